import { RunletError } from '../../ground/errors.ts';

/** Bytes in which a page may say its encoding (HTML standard, "prescan a byte stream"). */
const prescanned = 1_024;

/**
 * Decodes a text as browsers do: by its byte order mark, else the header's `charset`, else a page's `<meta>`, else as
 * UTF-8, or windows-1252 if it is no UTF-8. A label that nobody knows does not count. Bytes that are wrong in the
 * encoding become U+FFFD. Throws `invalid_argument` for an encoding that the Encoding standard refuses to decode.
 */
export function decodeText(bytes: Uint8Array, charset: string | undefined, { isHtml }: { readonly isHtml: boolean }) {
	const label = findMark(bytes) ?? charset ?? (isHtml ? findMeta(bytes) : undefined);
	const decoder = label === undefined ? undefined : createDecoder(label);
	if (decoder !== undefined) return decoder.decode(bytes);
	try {
		return new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes);
	} catch {
		return new TextDecoder('windows-1252').decode(bytes);
	}
}

function findMark([a, b, c]: Uint8Array): string | undefined {
	if (a === 0xef && b === 0xbb && c === 0xbf) return 'utf-8';
	if (a === 0xfe && b === 0xff) return 'utf-16be';
	return a === 0xff && b === 0xfe ? 'utf-16le' : undefined;
}

function findMeta(bytes: Uint8Array): string | undefined {
	const start = new TextDecoder('windows-1252').decode(bytes.subarray(0, prescanned));
	for (const [tag] of start.matchAll(/<meta\s[^<>]*>/gi)) {
		const [, label] = /charset\s{0,20}=\s{0,20}["']?([\w.:-]{1,40})/i.exec(tag) ?? [];
		// Who can read the tag does not read UTF-16.
		if (label !== undefined) return /^utf-?16/i.test(label) ? 'utf-8' : label;
	}
	return undefined;
}

/** Labels of the encoding "replacement", which nothing decodes because it hides markup. */
const refused: ReadonlySet<string> = new Set([
	...['replacement', 'hz-gb-2312', 'csiso2022kr', 'iso-2022-kr', 'iso-2022-cn', 'iso-2022-cn-ext'],
]);

function createDecoder(label: string): TextDecoder | undefined {
	const name = label.trim().toLowerCase();
	if (refused.has(name))
		throw new RunletError(
			'invalid_argument',
			`url: the text is encoded as ${name}, which is not safe to read. Look for it in UTF-8 elsewhere.`,
			{ field: 'url' },
		);
	try {
		return new TextDecoder(name);
	} catch {
		return undefined;
	}
}
