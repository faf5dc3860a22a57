import { EmptyState } from '../components/States';
import type { PageProps } from '../routes';

export default function Pauses(_: PageProps) {
  return <EmptyState title="Pauses" />;
}
