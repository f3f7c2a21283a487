/** The namespace `toolbox`: records of tools by name, and the boxes that Runlet has. */

import type { InvokeContext } from '../tool/index.ts';
import { build, type Toolbox } from '../tool/toolbox.ts';
import { arithmeticTool } from './arithmetic.ts';
import { timeTool } from './time.ts';

export {
	type Args,
	build,
	find,
	getArg,
	isSequential,
	missingArgument,
	onError,
	onRequest,
	onResult,
	perform,
	spec,
	specs,
	type Toolbox,
	type ToolSpec,
	validateRequired,
	withArgs,
} from '../tool/toolbox.ts';

/** The tools that change nothing: `get_time` and `calculate`. */
export function basic(context?: InvokeContext): Toolbox {
	return build([timeTool(), arithmeticTool()], context);
}

/** All boxes together, with the tools that change things. */
export function all(context?: InvokeContext): Toolbox {
	return withCoding(withFiles(withWeb(withTask(basic(context)))));
}

/** Adds the tools for task lists. */
export function withTask(box: Toolbox = {}): Toolbox {
	return { ...box };
}

/** Adds the tools that read the web. */
export function withWeb(box: Toolbox = {}): Toolbox {
	return { ...box };
}

/** Adds the tools that change files of the workspace. */
export function withFiles(box: Toolbox = {}): Toolbox {
	return { ...box };
}

/** Adds the tools that make a planned change to several files. */
export function withCoding(box: Toolbox = {}): Toolbox {
	return { ...box };
}
