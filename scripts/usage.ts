import { parseOptions } from '../src/command/options.ts';

/** Parses the options of a script that has only these flags. Returns false if it should only print its usage. */
export function isAsked(command: string, usage: string, flags: readonly string[] = []): boolean {
	try {
		const { help } = parseOptions(`${command} -- --help`, {
			args: process.argv.slice(2),
			options: {
				...Object.fromEntries(flags.map((flag) => [flag, { type: 'boolean' } as const])),
				help: { type: 'boolean', short: 'h' } as const,
			},
		}).values;
		if (help) console.log(usage);
		return !help;
	} catch (error) {
		console.error(error instanceof Error ? error.message : error);
		process.exit(2);
	}
}
