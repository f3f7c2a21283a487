/**
 * Reads the tool names of an `allowed-tools`: a list, or a text with spaces or commas. Patterns in parentheses are
 * removed: `Read Bash(git diff:*)` has `Read` and `Bash`.
 */
export function readToolNames(allowed: unknown): ReadonlySet<string> {
	const names = removePatterns(toAllowedText(allowed) ?? '').split(/[\s,]/);
	return new Set(names.filter((name) => name !== ''));
}

/** Converts an `allowed-tools` to one text. Returns `undefined` if it names no tools. */
export function toAllowedText(allowed: unknown): string | undefined {
	if (typeof allowed === 'string') return allowed;
	if (!Array.isArray(allowed) || !allowed.every((entry) => typeof entry === 'string')) return undefined;
	return allowed.join(' ');
}

/** Replaces each pair of parentheses and its content by a space. An unclosed one goes to the end. */
export function removePatterns(text: string): string {
	const kept: string[] = [];
	for (let at = 0; at < text.length; ) {
		const open = text.indexOf('(', at);
		kept.push(text.slice(at, open === -1 ? undefined : open));
		const close = open === -1 ? -1 : text.indexOf(')', open);
		if (close === -1) break;
		at = close + 1;
	}
	return kept.join(' ');
}
