/** The namespace `toolbox`: records of tools by name, and Runlet's own boxes of tools. */

import type { InvokeContext } from '../tool/index.ts';
import type { Toolbox } from '../tool/toolbox.ts';
import { arithmeticTool } from './arithmetic.ts';
import { deleteFileTool, editFileTool, moveFileTool, undoChangesTool, writeFileTool } from './change.ts';
import { addTools } from './files.ts';
import { applyPatchTool } from './patch/apply.ts';
import { applyPlanTool, planChangesTool } from './plan.ts';
import { queryJsonTool } from './query-json.ts';
import { fileInfoTool, listFilesTool, readFileTool, searchConversationTool } from './read.ts';
import { searchFilesTool } from './search-files.ts';
import { runShellTool } from './shell.ts';
import { addTasksTool, createTaskListTool, pushTaskTool, resolveTaskTool, showTasksTool } from './tasks.ts';
import { cancelWakeupTool, listWakeupsTool, scheduleWakeupTool, timeTool } from './time.ts';
import { webTools } from './web/index.ts';

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

export type { DocumentReader } from './web/document.ts';
export { braveSearch, tavilySearch, type WebOptions, webTools } from './web/index.ts';

/** The tools that change nothing: time, arithmetic, JSON, the conversation, and reading files. */
export function basic(context?: InvokeContext): Toolbox {
	return addTools(
		{},
		[
			timeTool(),
			arithmeticTool(),
			queryJsonTool(),
			searchConversationTool(),
			listFilesTool(),
			readFileTool(),
			fileInfoTool(),
			searchFilesTool(),
		],
		context,
	);
}

/** All boxes together, including the tools that change files and other state. Wake-ups and the shell are left out. */
export function all(context?: InvokeContext): Toolbox {
	return withCoding(withFiles(withWeb(withTask(basic(context), context), context), context), context);
}

/** Adds the tools for task lists. */
export function withTask(box: Toolbox = {}, context?: InvokeContext): Toolbox {
	const tools = [createTaskListTool(), addTasksTool(), pushTaskTool(), resolveTaskTool(), showTasksTool()];
	return addTools(box, tools, context);
}

/** Adds the tools for wake-ups (docs/schedules.md). They are not in `all`, because they need the schedules plugin. */
export function withWakeups(box: Toolbox = {}, context?: InvokeContext): Toolbox {
	return addTools(box, [scheduleWakeupTool(), listWakeupsTool(), cancelWakeupTool()], context);
}

/** Adds the tools that read the web, without options. Use `webTools` to set options. */
export function withWeb(box: Toolbox = {}, context?: InvokeContext): Toolbox {
	return addTools(box, webTools(), context);
}

/** Adds the tools that change files of the workspace. */
export function withFiles(box: Toolbox = {}, context?: InvokeContext): Toolbox {
	const tools = [
		writeFileTool(),
		editFileTool(),
		deleteFileTool(),
		moveFileTool(),
		applyPatchTool(),
		undoChangesTool(),
	];
	return addTools(box, tools, context);
}

/** Adds `run_shell`, which is in no other box. */
export function withShell(box: Toolbox = {}, context?: InvokeContext): Toolbox {
	return addTools(box, [runShellTool()], context);
}

/** Adds the tools that plan changes to several files and then apply the plan. */
export function withCoding(box: Toolbox = {}, context?: InvokeContext): Toolbox {
	return addTools(box, [planChangesTool(), applyPlanTool()], context);
}
