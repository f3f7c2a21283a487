import * as v from 'valibot';
import { fromBase64, isBase64 } from '../base/bytes.ts';
import { createFieldError } from '../base/errors.ts';
import { Work } from '../base/work.ts';
import { define } from '../tool/define.ts';
import type { Tool } from '../tool/index.ts';
import { checkPath } from '../workspace/path.ts';
import { replaceText } from './edit/replace.ts';
import { changeOnce, createAbsent, fileChanger, filePath, getWorkspace, joinPaths, openText } from './files.ts';

export function writeFileTool(): Tool {
	return define({
		name: 'write_file',
		description: 'Write a file: make it, or replace all of it. Give text or base64, one of them.',
		inputSchema: v.object({
			path: filePath,
			text: v.optional(v.pipe(v.string(), v.description('The whole text'))),
			base64: v.optional(v.pipe(v.string(), v.description('The bytes of a file that is no text'))),
		}),
		passInput: true,
		...fileChanger,
		onRequest: ({ path }) => ['Writing', path],
		onResult: (_, { path, size, created }) => [created ? 'Created' : 'Written', `${path}, ${size} bytes`],
		fn: async ({ path: given, text, base64 }, context) => {
			if ((text === undefined) === (base64 === undefined))
				throw createAbsent('text', 'Give text or base64, exactly one of them; "" makes an empty file.');
			if (base64 !== undefined && !isBase64(base64))
				throw createFieldError('invalid_argument', 'base64', 'not base64. Encode the bytes again, with padding.');
			const workspace = getWorkspace(context);
			const path = checkPath(given);
			const content = base64 === undefined ? new TextEncoder().encode(text) : fromBase64(base64);
			return changeOnce(workspace, async () => {
				const created = (await workspace.stat(path)) === undefined;
				const result = { path, size: content.length, created };
				await workspace.change([{ type: 'write', path, content }], result);
				return result;
			});
		},
	});
}

export function editFileTool(): Tool {
	return define({
		name: 'edit_file',
		description:
			'Replace a piece of a text file. oldText has to stand in the file exactly once, or give all: true for every place.',
		inputSchema: v.object({
			path: filePath,
			oldText: v.pipe(v.string(), v.description('The piece as it stands in the file')),
			newText: v.optional(v.pipe(v.string(), v.description('What comes instead; "" takes it out'))),
			all: v.optional(v.pipe(v.boolean(), v.description('Replaces every place'))),
		}),
		passInput: true,
		...fileChanger,
		onRequest: ({ path }) => ['Editing', path],
		onResult: (_, { path, replaced }) => ['Edited', `${path}, ${replaced} ${replaced === 1 ? 'place' : 'places'}`],
		fn: async ({ path, oldText, newText, all }, context) => {
			if (newText === undefined) throw createAbsent('newText', 'Give "" to take oldText out.');
			const workspace = getWorkspace(context);
			const remedy = 'Give a shorter oldText, or work on a smaller file.';
			const work = new Work({ signal: context.signal, field: 'oldText', remedy });
			return changeOnce(workspace, async () => {
				const before = await openText(workspace, path);
				const replacement = replaceText(before.text, before.path, { oldText, newText, all }, work);
				const { text, replaced } = await work.do(replacement);
				const result = { path: before.path, replaced };
				const edit = { type: 'write', path: before.path, content: text, ifVersion: before.version } as const;
				await workspace.change([edit], result);
				return result;
			});
		},
	});
}

export function deleteFileTool(): Tool {
	return define({
		name: 'delete_file',
		description: 'Delete a file. undo_changes brings it back.',
		inputSchema: v.object({ path: filePath }),
		passInput: true,
		...fileChanger,
		onRequest: ({ path }) => ['Deleting', path],
		onResult: (_, { path }) => ['Deleted', path],
		fn: async ({ path: given }, context) => {
			const workspace = getWorkspace(context);
			const result = { path: checkPath(given) };
			return changeOnce(workspace, async () => {
				await workspace.change([{ type: 'delete', path: result.path }], result);
				return result;
			});
		},
	});
}

export function moveFileTool(): Tool {
	return define({
		name: 'move_file',
		description: 'Move or rename a file. There must be no file at the new path.',
		inputSchema: v.object({
			from: v.pipe(v.string(), v.description('The path of the file')),
			to: v.pipe(v.string(), v.description('Its new path, with its name')),
		}),
		passInput: true,
		...fileChanger,
		onRequest: ({ from, to }) => ['Moving', `${from} to ${to}`],
		onResult: (_, { path }) => ['Moved', path],
		fn: async ({ from, to }, context) => {
			const workspace = getWorkspace(context);
			const result = { path: checkPath(to, 'to') };
			return changeOnce(workspace, async () => {
				await workspace.change([{ type: 'move', from, to }], result);
				return result;
			});
		},
	});
}

export function undoChangesTool(): Tool {
	return define({
		name: 'undo_changes',
		description: 'Take back the newest changes that tools made to files. A step is all that one call changed.',
		inputSchema: v.object({
			steps: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100), v.description('1'))),
		}),
		passInput: true,
		...fileChanger,
		onRequest: ({ steps = 1 }) => ['Undoing', `${steps} ${steps === 1 ? 'step' : 'steps'}`],
		onResult: (_, { undone }) => ['Undone', joinPaths(undone)],
		fn: async ({ steps }, context) => {
			const workspace = getWorkspace(context);
			return changeOnce(workspace, async () => ({ undone: await workspace.undo(steps) }));
		},
	});
}
