import { countBytes } from '../base/bytes.ts';
import { RunletError } from '../base/errors.ts';

/** The maximum size of a whole path in bytes. */
const longestPath = 1_024;
/** The maximum size of one name in a path, in bytes. */
const longestName = 255;

/** Characters that are invisible, or that change how other characters are displayed. */
const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]/u;
/** Characters that look like a slash, but that NFKC does not convert to a slash. */
const slashLike = /[\u2044\u2215\u29f5\u29f8]/u;
const drive = /^[a-z]:/i;
const device = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9\u00b9\u00b2\u00b3])(?:\.|$)/i;

/**
 * Checks the path of a file and returns it in NFC, without `.` and a leading `./`. Throws `invalid_argument`, which
 * names the field, for a path that leaves the workspace, or that people or other systems can mistake for another path.
 */
export function checkPath(path: unknown, field = 'path'): string {
	const checked = checkFolder(path, field);
	if (checked === '' || String(path).endsWith('/'))
		throw createPathError(field, path, 'names a folder. Give the path of a file, such as notes/plan.md');
	return checked;
}

/** Checks the path of a folder, which can end in a slash. The root is an empty text. */
export function checkFolder(path: unknown, field = 'path'): string {
	if (typeof path !== 'string') throw createPathError(field, path, 'is no text');
	if (/\p{Cs}/u.test(path)) throw createPathError(field, path, 'holds half of a character. Write the whole character');
	const normal = path.normalize('NFC');
	if (countBytes(normal) > longestPath)
		throw createPathError(field, path, `has more than ${longestPath} bytes. Use a shorter one`);
	if (normal.startsWith('/'))
		throw createPathError(field, path, 'is absolute. Give it relative to the workspace, without the slash in front');
	if (normal.includes('\\')) throw createPathError(field, path, 'has a backslash. Separate names by /');
	const names = normal.replace(/\/$/, '').split('/');
	if (names.length === 1 && names[0] === '') return '';
	const kept = names.filter((name) => name !== '.');
	if (drive.test(kept[0] ?? ''))
		throw createPathError(field, path, 'begins with a drive. Give it relative to the workspace');
	for (const name of kept) {
		const problem = findProblem(name);
		if (problem !== undefined) throw createPathError(field, path, problem);
	}
	return kept.join('/');
}

/** Returns the reason why a name is not allowed in a path. */
function findProblem(name: string): string | undefined {
	if (name === '..') return 'leaves the workspace by "..". Give it from the root of the workspace on';
	if (name.trim() === '') return 'has a blank name. Put a name between the slashes';
	if (hidden.test(name)) return 'holds a character that is not seen (control, zero-width or direction). Leave it out';
	if (hasLookalike(name)) return 'holds a character that looks like a dot, a slash or a colon. Use the plain one';
	if (name !== name.trim() || name.endsWith('.'))
		return 'has a name that begins or ends with a space, or ends with a dot. Leave that out';
	if (device.test(name)) return `has the name of a device, ${name}. Choose another name`;
	if (countBytes(name) > longestName) return `has a name over ${longestName} bytes. Use a shorter one`;
	return undefined;
}

function hasLookalike(name: string): boolean {
	if (slashLike.test(name)) return true;
	return Array.from(name).some((one) => one.charCodeAt(0) > 127 && /[./\\:]/.test(one.normalize('NFKC')));
}

/** The maximum size of a converted name in bytes. It leaves room for a number that makes the name unique. */
const longestMade = 240;
/** The maximum length of an extension that is kept when a name is cut. */
const longestExtension = 16;

/** Converts any text to a valid file name that is as similar to the text as possible. */
export function toSafeName(text: string): string {
	const letters = Array.from(text.normalize('NFC'), (one) =>
		/[\p{Cs}/\\]/u.test(one) || hidden.test(one) || hasLookalike(one) ? '_' : one,
	);
	const dot = letters.lastIndexOf('.');
	const extension = dot > 0 && letters.length - dot <= longestExtension ? letters.slice(dot).join('') : '';
	let short = '';
	for (const one of extension === '' ? letters : letters.slice(0, dot))
		if (countBytes(short + one + extension) <= longestMade) short += one;
	let name = `${short}${extension}`.trim();
	while (name.endsWith('.')) name = name.slice(0, -1).trim();
	const made = device.test(name) ? `_${name}` : name;
	return made !== '' && findProblem(made) === undefined ? made : 'file';
}

/** Lists the parent folders of a path. The outermost folder is first. */
export function listFolders(path: string): readonly string[] {
	const names = path.split('/');
	return names.slice(1).map((_, at) => names.slice(0, at + 1).join('/'));
}

/** Returns the parent folder of a path. The root folder is an empty text. */
export function findFolder(path: string): string {
	return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

function createPathError(field: string, path: unknown, what: string): RunletError {
	const shown = JSON.stringify(String(path).slice(0, 120)).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, escapeCharacter);
	return new RunletError('invalid_argument', `${field}: ${shown} ${what}.`, { field });
}

function escapeCharacter(character: string): string {
	return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}
