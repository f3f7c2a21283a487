/** The options of commands, and how a command is defined. */

import { type ParseArgsConfig, parseArgs } from 'node:util';
import { findNearest } from '../core/base/text.ts';

/** Like `parseArgs`, but errors name the wrong option, the nearest one, and `help`: the command that lists them all. */
export function parseOptions<T extends ParseArgsConfig>(help: string, config: T): ReturnType<typeof parseArgs<T>> {
	const { tokens = [] } = parseArgs({ ...config, strict: false, tokens: true });
	const options = config.options ?? {};
	const hint = `${help} has them all.`;
	for (const token of tokens) {
		if (token.kind === 'positional' && config.allowPositionals !== true)
			throw new TypeError(`"${token.value}" is no option. ${hint}`);
		if (token.kind !== 'option') continue;
		const option = Object.hasOwn(options, token.name) ? options[token.name] : undefined;
		if (option === undefined) {
			const meant = findNearest(token.name, Object.keys(options));
			const nearest = meant === undefined ? '' : ` Did you mean --${meant}?`;
			throw new TypeError(`${token.rawName}: there is no such option.${nearest} ${hint}`);
		}
		if (option.type === 'boolean' && token.value !== undefined)
			throw new TypeError(`${token.rawName}: takes no value. ${hint}`);
		const isMissing = token.value === undefined || (!token.inlineValue && token.value.startsWith('-'));
		if (option.type === 'string' && isMissing)
			throw new TypeError(
				`${token.rawName}: its value is missing. Write ${token.rawName} VALUE, or ${token.rawName}=VALUE.`,
			);
	}
	return parseArgs(config);
}

/**
 * Throws if an option comes before npm's `--`: npm then takes the option for itself, silently.
 *
 * @param names the options of the script, without hyphens
 */
export function assertNotTakenByNpm(names: readonly string[]): void {
	// npm sets some of its own options to an empty value.
	const lost = names.find((name) => (process.env[`npm_config_${name.replaceAll('-', '_')}`] ?? '') !== '');
	if (lost === undefined) return;
	const script = process.env.npm_lifecycle_event ?? 'start';
	const command =
		script === 'npx' ? 'npm exec -- runlet' : `${script === 'start' ? 'npm start' : `npm run ${script}`} --`;
	throw new TypeError(
		`--${lost}: npm took this option for itself. Put -- in front of all options: ${command} … --${lost} …`,
	);
}

/** Checks the form of the option `--base-path`, whose value should equal the `basePath` of `createRunlet`. */
export function toBasePath(path = ''): string {
	if (path === '' || /^(\/[\w.~-]+)+$/.test(path)) return path;
	throw new UsageError(`--base-path ${path}: must begin with / and not end with it, such as /ai.`);
}

/** Describes what to do if Runlet is not found at its address. */
export function describeLost(basePath: string): string {
	return basePath === ''
		? 'If createRunlet has a basePath, name it here, too: --base-path /ai'
		: `Is ${basePath} the basePath of createRunlet, and does your Worker pass on what is under it?`;
}

/** The options of a program that runs a command. */
export interface CommandOptions {
	/** Called once before the Worker is built or served. In the repository of Runlet it builds the page. */
	readonly prepare?: () => void;
}

export interface Command {
	readonly usage: string;
	/** Returns the exit code, or undefined if the command runs until it is stopped. */
	run(args: readonly string[], options: CommandOptions): Promise<number | undefined>;
}

/** A mistake in the command line. Only its message is printed, which describes what to type instead. */
export class UsageError extends Error {
	override readonly name = 'UsageError';
}
