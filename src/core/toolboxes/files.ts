import * as v from 'valibot';
import { RunletError } from '../ground/errors.ts';
import type { InvokeContext, Tool, ToolContext } from '../tool/index.ts';
import { build, type Toolbox } from '../tool/toolbox.ts';
import type { Workspace } from '../workspace/index.ts';

/** The path of a file, as an argument. The workspace itself checks it. */
export const filePath = v.pipe(v.string(), v.description('The path of the file, relative, such as src/index.ts'));

/** The path of a folder, as an argument. */
export const folderPath = v.pipe(v.string(), v.description('A folder, such as src; the root when left out'));

/** Whether there is a workspace. */
export function hasWorkspace({ workspace }: Partial<ToolContext>): boolean {
	return workspace !== undefined;
}

/** The workspace of a call. */
export function getWorkspace({ workspace }: ToolContext): Workspace {
	if (workspace !== undefined) return workspace;
	throw new RunletError('not_configured', 'There is no workspace here. Give the run one: context.workspace.');
}

/** Puts tools into a box. With a context, only those that are available. */
export function addTools(box: Toolbox, tools: readonly Tool[], context: InvokeContext | undefined): Toolbox {
	const all = Object.fromEntries(tools.map((tool) => [tool.name, tool]));
	return { ...box, ...(context === undefined ? all : build(all, context)) };
}
