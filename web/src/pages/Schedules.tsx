import { EmptyState } from '../components/States';
import type { PageProps } from '../routes';

export default function Schedules(_: PageProps) {
  return <EmptyState title="Schedules" />;
}
