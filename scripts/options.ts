import { type ParseArgsConfig, parseArgs } from 'node:util';
import { findNearest } from '../src/core/ground/nearest.ts';

/** Like `parseArgs`, but throws a `TypeError` that names the wrong option and the nearest known one. */
export function parseOptions<T extends ParseArgsConfig>(command: string, config: T): ReturnType<typeof parseArgs<T>> {
	const { tokens = [] } = parseArgs({ ...config, strict: false, tokens: true });
	const options = config.options ?? {};
	const help = `${command} -- --help has them all.`;
	for (const token of tokens) {
		if (token.kind === 'positional' && config.allowPositionals !== true)
			throw new TypeError(`"${token.value}" is no option. ${help}`);
		if (token.kind !== 'option') continue;
		const option = Object.hasOwn(options, token.name) ? options[token.name] : undefined;
		if (option === undefined) {
			const meant = findNearest(token.name, Object.keys(options));
			const hint = meant === undefined ? '' : ` Did you mean --${meant}?`;
			throw new TypeError(`${token.rawName}: there is no such option.${hint} ${help}`);
		}
		if (option.type === 'boolean' && token.value !== undefined)
			throw new TypeError(`${token.rawName}: takes no value. ${help}`);
		const isMissing = token.value === undefined || (!token.inlineValue && token.value.startsWith('-'));
		if (option.type === 'string' && isMissing)
			throw new TypeError(
				`${token.rawName}: its value is missing. Write ${token.rawName} VALUE, or ${token.rawName}=VALUE.`,
			);
	}
	return parseArgs(config);
}

/** Parses the options of a script without options. Returns false if it should only print its usage. */
export function isAsked(command: string, usage: string): boolean {
	try {
		const { values } = parseOptions(command, {
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
