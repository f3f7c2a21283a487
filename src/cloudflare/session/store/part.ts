/** Characters of a body in one row: at three bytes each, under the 2 MB that a row may hold. */
const partLength = 500_000;

/** A body in pieces that fit a row, none of them ending within a character. */
export function splitRows(body: string): string[] {
	const parts: string[] = [];
	for (let at = 0; at < body.length; ) {
		const end = at + partLength;
		const splits = body.charCodeAt(end - 1) >= 0xd800 && body.charCodeAt(end - 1) <= 0xdbff;
		parts.push(body.slice(at, splits ? end + 1 : end));
		at = splits ? end + 1 : end;
	}
	return parts;
}
