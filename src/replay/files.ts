import { fromBase64 } from '../core/base/bytes.ts';
import type { Workspace } from '../core/index.ts';
import type { RecordedRun, Recording } from './recording.ts';

/**
 * Gives live tools the files that came from outside since the run before. Only the newest content of a file is recorded,
 * so a file that changed later comes later.
 */
export async function giveFiles(workspace: Workspace, recording: Recording, run: RecordedRun): Promise<void> {
	const before = recording.runs[recording.runs.indexOf(run) - 1];
	const since = before?.endedAt ?? before?.createdAt ?? '';
	// The tools of a run changed files during the run, and these tools run again.
	const isGiven = ({ modifiedAt = '' }: Recording['files'][number]) =>
		modifiedAt > since && modifiedAt <= run.createdAt;
	for (const [path, pieces] of Map.groupBy(recording.files.filter(isGiven), (piece) => piece.path))
		await workspace.write(path, joinPieces(pieces));
}

export function joinPieces(pieces: Recording['files']): Uint8Array {
	const bytes = new Uint8Array(pieces[0]?.size ?? 0);
	for (const { at, base64 } of pieces) bytes.set(fromBase64(base64), at);
	return bytes;
}
