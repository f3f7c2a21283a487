import { parseOptions } from '../src/command/options.ts';

/** Parses the options of a script without options. Returns false if it should only print its usage. */
export function isAsked(command: string, usage: string): boolean {
	try {
		const { values } = parseOptions(`${command} -- --help`, {
			args: process.argv.slice(2),
			options: { help: { type: 'boolean', short: 'h' } },
		});
		if (values.help) console.log(usage);
		return !values.help;
	} catch (error) {
		console.error(error instanceof Error ? error.message : error);
		process.exit(2);
	}
}
