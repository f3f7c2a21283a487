import { UsageError } from './command.ts';

/** Checks a base path, which is the one that `createRunlet` has. */
export function toBasePath(given = ''): string {
	if (given === '' || /^(\/[\w.~-]+)+$/.test(given)) return given;
	throw new UsageError(`--base-path ${given}: must begin with / and not end with it, such as /ai.`);
}

/** Says what to do if Runlet is not found where it is looked for. */
export function describeLost(basePath: string): string {
	return basePath === ''
		? 'If createRunlet has a basePath, name it here, too: --base-path /ai'
		: `Is ${basePath} the basePath of createRunlet, and does your Worker pass on what is under it?`;
}
