import { EmptyState } from '../components/States';
import type { PageProps } from '../routes';

export default function Videos(_: PageProps) {
  return <EmptyState title="Videos" />;
}
