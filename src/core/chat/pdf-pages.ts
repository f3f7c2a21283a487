/** Bytes of a page, for a file that shows no pages. */
const pageBytes = 40_000;

/** Characters in front of a stream that hold its dictionary. */
const dictionaryLength = 1_000;

/**
 * Counts the pages of a PDF, given as a character a byte. Those that it names, else its contents: since version 1.5 the
 * pages themselves may be compressed, but each has a stream for what is on it. The count is rather too high.
 */
export function countPages(bytes: string): number {
	return Math.max(1, countNamed(bytes) || countContents(bytes) || Math.ceil(bytes.length / pageBytes));
}

function countNamed(bytes: string): number {
	// A file with compressed objects may name only some of its pages.
	if (bytes.includes('/ObjStm')) return 0;
	let pages = 0;
	for (let at = bytes.indexOf('/Type'); at !== -1; at = bytes.indexOf('/Type', at + 5)) {
		const name = bytes.slice(at + 5, at + 12).trimStart();
		if (name.startsWith('/Page') && !name.startsWith('/Pages')) pages++;
	}
	return pages;
}

/** Counts the streams that are no image, font, profile or list of objects. */
function countContents(bytes: string): number {
	let contents = 0;
	for (let end = 0, at = findStream(bytes, 0); at !== -1; at = findStream(bytes, end)) {
		const head = bytes.slice(Math.max(end, at - dictionaryLength), at);
		const dictionary = head.slice(head.lastIndexOf(' obj') + 1);
		if (!/\/(Type|Subtype|Length1|N)\b/.test(dictionary)) contents++;
		const closed = bytes.indexOf('endstream', at);
		end = closed === -1 ? bytes.length : closed + 9;
	}
	return contents;
}

function findStream(bytes: string, from: number): number {
	return bytes.indexOf('stream', from);
}
