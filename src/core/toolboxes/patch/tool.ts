import * as v from 'valibot';
import { RunletError } from '../../ground/errors.ts';
import { Work } from '../../ground/work.ts';
import { define } from '../../tool/define.ts';
import type { Tool } from '../../tool/index.ts';
import { addVersions, Draft } from '../edit/draft.ts';
import { changeOnce, getWorkspace, hasWorkspace, joinPaths } from '../files.ts';
import { applyHunks } from './apply.ts';
import { createPatchError, type FilePatch, type Hunk } from './patch.ts';
import { parseUnified } from './unified.ts';
import { isV4a, parseV4a } from './v4a.ts';

/** The most files of a patch. */
const mostFiles = 500;

/** Makes the tool `apply_patch`. */
export function applyPatchTool(): Tool {
	return define({
		name: 'apply_patch',
		description:
			'Change several text files by a patch: a unified diff, or *** Begin Patch … *** End Patch. All of it is applied, or nothing.',
		inputSchema: v.object({ patch: v.pipe(v.string(), v.maxLength(1_000_000), v.description('The patch')) }),
		passInput: true,
		sequential: true,
		retry: 'safe',
		isAvailable: hasWorkspace,
		onRequest: ({ patch }) => ['Applying a patch', `${patch.split('\n').length} lines`],
		onResult: (_, { changed }) => ['Changed', joinPaths(changed)],
		fn: async ({ patch }, context) => {
			const workspace = getWorkspace(context);
			return changeOnce(workspace, async () => {
				const draft = new Draft(workspace);
				const files = isV4a(patch) ? parseV4a(patch) : parseUnified(patch);
				if (files.length > mostFiles)
					throw createPatchError(`it changes ${files.length} files, and at most ${mostFiles} at a time. Split it.`);
				const work = new Work({ signal: context.signal, field: 'patch', remedy: 'Apply fewer hunks at a time.' });
				for (const file of files) await draftFile(draft, file, work);
				const result = { changed: draft.list().map(({ path, kind }) => ({ path, kind })) };
				await workspace.change(addVersions(draft.edits, draft.versions), result);
				return result;
			});
		},
	});
}

async function draftFile(draft: Draft, file: FilePatch, work: Work): Promise<void> {
	const apply = async (path: string, hunks: readonly Hunk[]): Promise<string> =>
		work.do(applyHunks(await draft.read(path), path, hunks, work));
	try {
		if (file.type === 'create') return await draft.create(file.path, file.text);
		const path = await findPath(draft, file.paths);
		if (file.type === 'delete') {
			if (file.hunks.length > 0 && (await apply(path, file.hunks)) !== '')
				throw createPatchError(`${path} is deleted, but has more lines than the patch takes out.`);
			return await draft.delete(path);
		}
		if (file.newText !== undefined && !(await draft.has(path))) return await draft.create(path, file.newText);
		const { hunks, moveTo } = file;
		if (hunks.length > 0) {
			const after = await apply(path, hunks);
			if (after === (await draft.read(path)) && (moveTo === undefined || moveTo === path))
				throw createPatchError(
					`${path} stays as it is: the patch changes no text of it. Line ends stay those of the file; write_file changes them.`,
				);
			await draft.write(path, after);
		}
		if (moveTo !== undefined && moveTo !== path) await draft.move(path, moveTo);
	} catch (error) {
		if (!(error instanceof RunletError) || work.isOver || error.message.startsWith('patch: ')) throw error;
		throw createPatchError(error.message);
	}
}

/** The first of some paths that is there, or else the first. */
async function findPath(draft: Draft, paths: readonly string[]): Promise<string> {
	for (const path of paths) if (await draft.has(path)) return path;
	return paths[0] ?? '';
}
