import { EmptyState } from '../components/States';
import type { PageProps } from '../routes';

export default function Settings(_: PageProps) {
  return <EmptyState title="Settings" />;
}
