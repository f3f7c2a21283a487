/**
 * The names of tools in an `allowed-tools`, whichever way it is written: as a list, or separated by spaces or by commas.
 * What stands in parentheses is a pattern of the tool in front of it: `Read Bash(git diff:*)` has `Read` and `Bash`.
 */
export function toolNames(allowed: unknown): ReadonlySet<string> {
	const names = withoutPatterns(toAllowedText(allowed) ?? '').split(/[\s,]/);
	return new Set(names.filter((name) => name !== ''));
}

/** An `allowed-tools` as one text; nothing where it names no tools at all. */
export function toAllowedText(allowed: unknown): string | undefined {
	if (typeof allowed === 'string') return allowed;
	if (!Array.isArray(allowed) || !allowed.every((entry) => typeof entry === 'string')) return undefined;
	return allowed.join(' ');
}

/** A text with a space for all that stands in parentheses; one that is never closed goes to the end. */
export function withoutPatterns(text: string): string {
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
