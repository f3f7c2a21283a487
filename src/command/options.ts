import { type ParseArgsConfig, parseArgs } from 'node:util';
import { findNearest } from '../core/ground/text.ts';

/** Like `parseArgs`, but throws a `TypeError` that names the wrong option and the nearest known one. `help` is what to type to
 * read of all options. */
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
