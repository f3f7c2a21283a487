/** Which kind of token may follow which, and what it is then. */
const steps: Readonly<Record<string, Readonly<Record<string, string>>>> = {
	number: { start: 'number', open: 'number', minus: 'number', operator: 'number' },
	'(': { start: 'open', open: 'open', operator: 'open' },
	')': { number: 'closed', closed: 'closed' },
	'-': { start: 'minus', open: 'minus', operator: 'minus', number: 'operator', closed: 'operator' },
	operator: { number: 'operator', closed: 'operator' },
};

/**
 * Finds the first sum in a text, such as `(2 + 3) * -4`. Reads it token by token, because a regular expression would
 * try too many ways on a long text.
 */
export function findSum(text: string): string | undefined {
	let state = 'start';
	let begin = 0;
	let end: number | undefined;
	let hasOperator = false;
	for (const { 0: token, index } of text.matchAll(/\d[\d.]*|[^\d\s]/g)) {
		const step = steps[/^\d/.test(token) ? 'number' : /^[+*/^%]/.test(token) ? 'operator' : token];
		if (step?.[state] === undefined) {
			if (end !== undefined) break;
			state = 'start';
			hasOperator = false;
		}
		if (state === 'start') begin = index;
		state = step?.[state] ?? 'start';
		hasOperator ||= state === 'operator';
		if (hasOperator && (state === 'number' || state === 'closed')) end = index + token.length;
	}
	return end === undefined ? undefined : text.slice(begin, end);
}
