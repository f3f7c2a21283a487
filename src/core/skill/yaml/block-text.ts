/** How a text of several lines is joined: https://yaml.org/spec/1.2.2/#81-block-scalar-styles */
export interface BlockStyle {
	/** `|` keeps the breaks, `>` folds them. */
	readonly style: string;
	/** What becomes of the breaks at the end: `-` drops them, `+` keeps them, anything else keeps one. */
	readonly chomp: string | undefined;
	/** The spaces in front of each line, which are not part of the text. */
	readonly indent: number;
}

/** Joins the lines of a block scalar. The last line is what follows the last break. */
export function joinBlock(lines: readonly string[], { style, chomp, indent }: BlockStyle): string {
	const split = lines.map((line) => {
		const [spaces = ''] = /^ */.exec(line) ?? [];
		return { extra: spaces.slice(indent), rest: line.slice(spaces.length) };
	});
	const end = split.findLastIndex(({ rest }) => rest !== '') + 1;
	if (end === 0) return chomp === '+' && lines.join('\n') !== '' ? '\n'.repeat(Math.max(1, lines.length - 1)) : '';
	const start = split.findIndex(({ rest }) => rest !== '');
	const before = split.slice(0, start).map(({ extra }) => `${extra}\n`);
	const text = before.join('') + (style === '|' ? keepBreaks : fold)(split.slice(start, end));
	if (chomp === '-') return text;
	if (chomp !== '+') return `${text}\n`;
	const after = split.slice(end).map(({ extra }) => `\n${extra}`);
	const whole = text + after.join('');
	return whole.endsWith('\n') ? whole : `${whole}\n`;
}

interface Line {
	readonly extra: string;
	readonly rest: string;
}

function keepBreaks(lines: readonly Line[]): string {
	return lines.map(({ extra, rest }) => extra + rest).join('\n');
}

/** Lines that are indented further keep their breaks. */
function fold(lines: readonly Line[]): string {
	let text = '';
	let join = '';
	let wasFurther = false;
	for (const { extra, rest } of lines) {
		if (extra !== '' || rest.startsWith('\t')) {
			if (join === ' ') join = '\n';
			else if (!wasFurther && join === '\n') join = '\n\n';
			text += join + extra + rest;
			join = '\n';
			wasFurther = true;
		} else if (rest === '') {
			if (join === '\n') text += '\n';
			else join = '\n';
		} else {
			text += join + rest;
			join = ' ';
			wasFurther = false;
		}
	}
	return text;
}
