import { EmptyState } from '../components/States';
import type { PageProps } from '../routes';

export default function Keys(_: PageProps) {
  return <EmptyState title="Keys" />;
}
