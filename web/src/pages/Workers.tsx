import { EmptyState } from '../components/States';
import type { PageProps } from '../routes';

export default function Workers(_: PageProps) {
  return <EmptyState title="Workers" />;
}
