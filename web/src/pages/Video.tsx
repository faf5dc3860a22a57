import { EmptyState } from '../components/States';
import type { PageProps } from '../routes';

export default function Video(_: PageProps) {
  return <EmptyState title="Video" />;
}
