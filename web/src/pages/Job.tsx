import { EmptyState } from '../components/States';
import type { PageProps } from '../routes';

export default function Job(_: PageProps) {
  return <EmptyState title="Job" />;
}
