import { EmptyState } from '../components/States';
import type { PageProps } from '../routes';

export default function Machines(_: PageProps) {
  return <EmptyState title="Machines" />;
}
