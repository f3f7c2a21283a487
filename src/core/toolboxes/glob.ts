import { createFieldError, toMessageText } from '../base/errors.ts';
import type { StepCounter, Steps } from '../base/work.ts';
import { compilePattern } from '../tool/pattern/pattern.ts';

/** The maximum length of a glob in characters. */
const longestGlob = 500;

/**
 * Compiles a glob: `*` and `?` within a name, `**` over folders, `[abc]`, `{a,b}`. A glob with a slash must match the
 * whole path. A glob without a slash must match the file's name. Matching takes linear time. Throws `invalid_argument`
 * for other syntax.
 */
export function compileGlob(glob: string): (path: string, work: StepCounter) => Steps<boolean> {
	const hasFolder = glob.includes('/');
	try {
		if (glob.length > longestGlob) throw new Error(`is longer than ${longestGlob} characters`);
		const { test } = compilePattern(`^(?:${toPattern(glob.replace(/^\.?\//, ''))})$`);
		return (path, work) => test(hasFolder ? path : path.slice(path.lastIndexOf('/') + 1), work);
	} catch (error) {
		throw createFieldError('invalid_argument', 'glob', `${toMessageText(error)}. Write one such as src/**/*.ts.`);
	}
}

/** Converts a glob to a regular expression. */
function toPattern(glob: string): string {
	let depth = 0;
	return glob.replace(/\*\*\/|\*\*|[*?{},]|\[[!^]?\]?[^[\]/]*\]|[^*?{},[]+|\[/g, (piece) => {
		switch (piece) {
			case '**/':
				return '(?:[^/]+/)*';
			case '**':
				return '[^\\n]*';
			case '*':
				return '[^/]*';
			case '?':
				return '[^/]';
			case '{':
				depth++;
				return '(?:';
			case '}':
				if (depth === 0) return '\\}';
				depth--;
				return ')';
			case ',':
				return depth > 0 ? '|' : ',';
		}
		if (piece.startsWith('[') && piece.length > 1) return toSet(piece.slice(1, -1));
		return piece.replace(/[\\^$.|+()[\]{}/-]/g, (one) => (one === '-' || one === '/' ? one : `\\${one}`));
	});
}

/** Converts the inside of `[…]` to a set of characters. */
function toSet(inside: string): string {
	const negated = /^[!^]/.test(inside);
	const set = (negated ? inside.slice(1) : inside).replace(/[\\[\]^]/g, '\\$&');
	return negated ? `[^/${set}]` : `[${set}]`;
}
