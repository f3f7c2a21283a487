import * as v from 'valibot';
import { RunletError } from '../base/errors.ts';
import { define } from '../tool/define.ts';
import type { Tool, ToolContext } from '../tool/index.ts';
import type { Edit, Workspace } from '../workspace/index.ts';
import { changeOnce, getWorkspace, listFiles } from './files.ts';

/** The maximum number of files in a workspace in which commands can run. */
const mostFiles = 10_000;
/** The maximum number of bytes that one command can read. */
const mostRead = 32_000_000;
/** The maximum length of each output for the model, in characters. */
const maxOutput = 30_000;
const usualMs = 10_000;
const longestMs = 60_000;

interface ShellResult {
	readonly stdout: string;
	readonly stderr: string;
	readonly exitCode: number;
	readonly truncated: boolean;
}

export function runShellTool(): Tool {
	return define({
		name: 'run_shell',
		description:
			'Run a command in bash over the files: pipes, loops, grep, sed, awk, jq, sort, find, diff and the like. There is no network and no other program. What it changes is kept if it ends in time.',
		inputSchema: v.object({
			command: v.pipe(v.string(), v.minLength(1), v.maxLength(100_000), v.description('A script, such as wc -l src/*')),
			timeoutMs: v.optional(
				v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(longestMs), v.description(String(usualMs))),
			),
		}),
		passInput: true,
		sequential: true,
		// Never repeat a command after a crash, because the command possibly caused the crash.
		retry: 'never',
		isAvailable: ({ workspace, shell }) => workspace !== undefined && shell !== undefined,
		onRequest: ({ command }) => ['Running', command.slice(0, 200)],
		onResult: (_, { exitCode }) => ['Ended', exitCode === 0 ? 'well' : `with exit code ${exitCode}`],
		fn: async ({ command, timeoutMs = usualMs }, context): Promise<ShellResult> => {
			const workspace = getWorkspace(context);
			return changeOnce(workspace, () => runCommand(command, timeoutMs, workspace, context));
		},
	});
}

/** Runs a command. Makes all its changes in one step, or none of them. */
async function runCommand(
	command: string,
	timeoutMs: number,
	workspace: Workspace,
	{ shell }: ToolContext,
): Promise<ShellResult> {
	if (shell === undefined)
		throw new RunletError('not_configured', 'There is no shell here. Give the run one: context.shell.');
	const paths = await listPaths(workspace);
	/** The version of each file that the command has read. */
	const versions = new Map<string, number>();
	let bytes = 0;
	const read = async (path: string): Promise<Uint8Array> => {
		const info = await workspace.stat(path);
		const size = info?.type === 'file' ? info.size : 0;
		bytes += size;
		if (bytes > mostRead)
			throw new RunletError(
				'too_large',
				`The command reads more than ${mostRead} bytes of files. Work on fewer at a time.`,
			);
		if (info?.type === 'file') versions.set(path, info.version);
		return workspace.read(path);
	};
	const { written, deleted, ...result } = await shell.run({ command, paths, read, timeoutMs, maxOutput });
	const known = new Set(paths);
	const edits: Edit[] = [
		...deleted.map((path) => ({ type: 'delete', path, ifVersion: versions.get(path) }) as const),
		...written.map(({ path, content }) => {
			const ifVersion = known.has(path) ? versions.get(path) : null;
			return { type: 'write', path, content, ifVersion } as const;
		}),
	];
	if (edits.length > 0) await workspace.change(edits, result);
	return result;
}

async function listPaths(workspace: Workspace): Promise<readonly string[]> {
	const paths: string[] = [];
	for await (const { path } of listFiles(workspace)) {
		paths.push(path);
		if (paths.length > mostFiles)
			throw new RunletError(
				'too_large',
				`There are more than ${mostFiles} files, and a shell takes no more. Use the other tools.`,
			);
	}
	return paths;
}
