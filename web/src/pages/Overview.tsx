import { EmptyState } from '../components/States';
import type { PageProps } from '../routes';

export default function Overview(_: PageProps) {
  return <EmptyState title="Overview" />;
}
