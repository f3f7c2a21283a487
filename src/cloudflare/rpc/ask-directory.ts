import type { DirectoryApi, DirectoryNamespace } from './directory.ts';
import { reach, usualLimitMs } from './reach.ts';

/** Asks an owner's directory. Each of its calls may be made twice. */
export function askDirectory<T>(
	directories: DirectoryNamespace,
	owner: string,
	ask: (one: DirectoryApi) => Promise<T>,
): Promise<T> {
	const call = () => ask(directories.get(directories.idFromName(owner)));
	return reach(call, { what: 'The list of sessions', isSafe: true, timeoutMs: usualLimitMs });
}
