import * as v from 'valibot';
import { createFieldError, RunletError } from '../base/errors.ts';
import type { InvokeContext, Tool, ToolContext } from '../tool/index.ts';
import { build, type Toolbox } from '../tool/toolbox.ts';
import type { ListedEntry, Workspace } from '../workspace/index.ts';

/** A tool's argument for the path of a file. The workspace checks the path. */
export const filePath = v.pipe(v.string(), v.description('The path of the file, relative, such as src/index.ts'));

/** A tool's argument for the path of a folder. */
export const folderPath = v.pipe(v.string(), v.description('A folder, such as src; the root when left out'));

function hasWorkspace({ workspace }: Partial<ToolContext>): boolean {
	return workspace !== undefined;
}

/** The fields that all tools for reading files share. */
export const fileReader = { retry: 'safe', isAvailable: hasWorkspace } as const;

/** The fields that all tools for changing files share. */
export const fileChanger = { ...fileReader, sequential: true } as const;

export function getWorkspace({ workspace }: ToolContext): Workspace {
	if (workspace !== undefined) return workspace;
	throw new RunletError('not_configured', 'There is no workspace here. Give the run one: context.workspace.');
}

/** Adds tools to a box. With a context, adds only the tools that are available in this context. */
export function addTools(box: Toolbox, tools: readonly Tool[], context: InvokeContext | undefined): Toolbox {
	const all = Object.fromEntries(tools.map((tool) => [tool.name, tool]));
	return { ...box, ...(context === undefined ? all : build(all, { readConversation: () => [], ...context })) };
}

/** Lists all files of a folder, page by page. */
export async function* listFiles(workspace: Workspace, path = ''): AsyncGenerator<ListedEntry, undefined> {
	for (let after: string | undefined; ; ) {
		const { entries, truncated } = await workspace.list({ path, recursive: true, after });
		yield* entries.filter(({ type }) => type === 'file');
		after = entries.at(-1)?.path;
		if (!truncated) return;
	}
}

/** Makes a change only once. A call that is repeated after a crash returns its first result. */
export async function changeOnce<R>(workspace: Workspace, work: () => Promise<R>): Promise<R> {
	// SAFETY: `recall` returns only the result of the same tool with the same arguments.
	const before = (await workspace.recall()) as R | undefined;
	return before ?? work();
}

export function joinPaths(changed: readonly { readonly path: string }[]): string {
	return changed.map(({ path }) => path).join(', ');
}

/** Creates the error for a required argument that was left out. An empty text does not count as left out. */
export function createAbsent(field: string, what: string): RunletError {
	return new RunletError('invalid_argument', `${field}: missing. ${what}`, { field });
}

/** The maximum size of an edited text in bytes. */
const largestText = 8_388_608;

export interface OpenedText {
	readonly path: string;
	readonly text: string;
	readonly version: number;
}

/** Reads a whole text for editing. Throws if the file is not text or is too long. */
export async function openText(workspace: Workspace, path: string): Promise<OpenedText> {
	const info = await workspace.stat(path);
	if (info?.type === 'file' && info.lines !== undefined && info.size > largestText)
		throw createFieldError(
			'invalid_argument',
			'path',
			`${path} has ${info.size} bytes, and at most ${largestText} can be edited. Write it anew.`,
		);
	// `readLines` throws better errors: they name a similar path, or describe a file that is not text.
	if (info?.type !== 'file' || info.lines === undefined) await workspace.readLines(path, { toLine: 1 });
	const { version } = info?.type === 'file' ? info : { version: 0 };
	const bytes = await workspace.read(path);
	return {
		path: info?.path ?? path,
		text: new TextDecoder('utf-8', { fatal: false, ignoreBOM: true }).decode(bytes),
		version,
	};
}
