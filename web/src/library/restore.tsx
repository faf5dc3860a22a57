/** Undo the deletion of a video. */

import { addressOf, ApiError, send } from '../api/client';
import type { Video } from '../api/types';
import { Icon } from '../components/Icon';
import { toast, toastError } from '../components/Toast';
import { may } from '../session';

export async function restoreVideo(id: string): Promise<void> {
  try {
    await send('post', addressOf('/api/v1/videos/{video_id}/restore', { video_id: id }));
    toast('The video is restored');
  } catch (error) {
    if (error instanceof ApiError && (error.status === 404 || error.status === 405)) toast('This video cannot be restored', 'error', { hint: error.hint ?? 'its files may have been removed' });
    else toastError(error);
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
