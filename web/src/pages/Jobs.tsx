import { EmptyState } from '../components/States';
import type { PageProps } from '../routes';

export default function Jobs(_: PageProps) {
  return <EmptyState title="Jobs" />;
}
