import { EmptyState } from '../components/States';
import type { PageProps } from '../routes';

export default function Pipelines(_: PageProps) {
  return <EmptyState title="Pipelines" />;
}
