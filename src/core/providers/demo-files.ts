import { isRecord } from '../base/json.ts';
import { parseToolInput } from '../tool/call.ts';
import type { Tool, ToolCall } from '../tool/index.ts';

/** An answered call of the demo model. */
export interface Done {
	readonly call: ToolCall;
	readonly output: string;
	readonly isError: boolean;
}

export interface PlannedCall {
	readonly tool: string;
	readonly input: Readonly<Record<string, unknown>>;
}

/**
 * Plans the calls that write the files of a message or of a read skill: fenced blocks with a path after the language.
 * Uses the tools for plans and for task lists, if there are any.
 */
export function planFiles(message: string, tools: readonly Tool[], done: readonly Done[]): readonly PlannedCall[] {
	const skills = done.filter(({ call, isError }) => call.name === 'read_skill' && !isError);
	const files = findFiles([message, ...skills.map(({ output }) => output)].join('\n'));
	const has = (name: string) => tools.some((tool) => tool.name === name);
	const isPlanned = has('plan_changes') && has('apply_plan');
	if (files.length === 0 || !(isPlanned || has('write_file'))) return [];
	const names = files.map(({ path }) => path).join(', ');
	const tasks = files.map(({ path }) => `Write ${path}`);
	const edits = files.map(({ path, text }) => ({ path, newText: text }));
	const planId = findField(done, 'plan_changes', 'planId');
	const writes: readonly PlannedCall[] = isPlanned
		? [
				{ tool: 'plan_changes', input: { summary: `Write ${names}`, edits } },
				...(planId === undefined ? [] : [{ tool: 'apply_plan', input: { planId } }]),
			]
		: files.map((file) => ({ tool: 'write_file', input: { ...file } }));
	return [
		...(has('create_task_list') ? [{ tool: 'create_task_list', input: { title: `Write ${names}`, tasks } }] : []),
		...writes,
		...planOutcomes(files, tools, done),
	];
}

/** Plans the calls that resolve tasks: the task of a file is resolved after the file's change has a result. */
function planOutcomes(files: readonly File[], tools: readonly Tool[], done: readonly Done[]): readonly PlannedCall[] {
	const listId = findField(done, 'create_task_list', 'id');
	if (listId === undefined || !tools.some(({ name }) => name === 'resolve_task')) return [];
	return files.flatMap(({ path }, at) => {
		const change = done.findLast(
			({ call, isError }) =>
				call.name === 'apply_plan' ||
				(call.name === 'plan_changes' && isError) ||
				(call.name === 'write_file' && isRecord(call.input) && call.input.path === path),
		);
		if (change === undefined) return [];
		const outcome = change.isError ? 'failed' : 'done';
		return [{ tool: 'resolve_task', input: { listId, taskId: `task-${at + 1}`, outcome } }];
	});
}

/** Describes the outcome of a call for files. The text is empty for calls that need no description. */
export function reportFiles({ call, output, isError }: Done): string | undefined {
	if (isError) return undefined;
	if (call.name === 'apply_plan') return `Done: ${listChanged(output)}.`;
	return ['read_skill', 'plan_changes', 'create_task_list', 'resolve_task'].includes(call.name) ? '' : undefined;
}

interface File {
	readonly path: string;
	readonly text: string;
}

/** Finds fenced blocks whose first line names a language and a path, such as "css style.css". */
function findFiles(text: string): readonly File[] {
	const files = new Map<string, string>();
	let open: { readonly path: string; readonly lines: string[] } | undefined;
	for (const line of text.slice(0, 200_000).split('\n')) {
		if (open === undefined) {
			const [fence = '', path = ''] = line.trim().split(' ');
			if (fence.startsWith('```') && /^[\w./-]+\.\w+$/.test(path)) open = { path, lines: [] };
		} else if (line.trim() === '```') {
			files.set(open.path, open.lines.map((content) => `${content}\n`).join(''));
			open = undefined;
		} else open.lines.push(line);
	}
	return [...files].slice(0, 20).map(([path, content]) => ({ path, text: content }));
}

/** Finds a text in the newest result of a tool. */
function findField(done: readonly Done[], tool: string, field: string): string | undefined {
	const result = done.findLast(({ call, isError }) => call.name === tool && !isError);
	const output = result === undefined ? undefined : parseToolInput(result.output);
	const value = isRecord(output) ? output[field] : undefined;
	return typeof value === 'string' ? value : undefined;
}

function listChanged(output: string): string {
	const parsed = parseToolInput(output);
	const changed: readonly unknown[] = isRecord(parsed) && Array.isArray(parsed.changed) ? parsed.changed : [];
	return changed.flatMap((file) => (isRecord(file) ? [`${file.kind} ${file.path}`] : [])).join(', ');
}
