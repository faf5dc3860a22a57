import { EmptyState } from '../components/States';
import type { PageProps } from '../routes';

export default function Archive(_: PageProps) {
  return <EmptyState title="Archive" />;
}
