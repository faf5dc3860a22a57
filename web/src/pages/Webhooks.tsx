import { EmptyState } from '../components/States';
import type { PageProps } from '../routes';

export default function Webhooks(_: PageProps) {
  return <EmptyState title="Webhooks" />;
}
