/** Undo the deletion of a video. */

import { api } from '../api/client';
import type { Video } from '../api/types';
import { Icon } from '../components/Icon';
import { toast, toastError } from '../components/Toast';
import { may } from '../session';

export async function restoreVideo(id: string): Promise<void> {
  try {
    await api.post('/api/v1/videos/{video_id}/restore', { path: { video_id: id } });
    toast('The video is restored');
  } catch (error) {
    toastError(error);
  }
}

export function Restore({ video }: { video: Video }) {
  if (!may('jobs:write')) return null;
  return (
    <button
      type="button"
      class="button small"
      onClick={() => void restoreVideo(String(video.id))}
    >
      <Icon name="retry" /> Restore
    </button>
  );
}
