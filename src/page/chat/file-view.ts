/** Shows one file: as what it is, or as its text, and what changed in it. */

import { say } from '../../client/say.ts';
import { describeSize } from '../../client/words.ts';
import { colourCode, createCode } from '../markdown/code.ts';
import { createMarkdown } from '../markdown/markdown.ts';
import { button, configure, element } from '../parts/element.ts';
import { createIcon } from '../parts/icon.ts';
import { createHtmlPreview, listSheets } from './html-preview.ts';
import { shownTypes } from './pictures.ts';

/** The size up to which a file is shown, and the number of characters that are shown of a text. */
const mostBytes = 2_000_000;
const mostCharacters = 200_000;

interface FileViewOptions {
	readonly path: string;
	readonly content: Blob;
	/** What changed in this file, the newest first, as elements. */
	readonly changes: readonly HTMLElement[];
	/** Reads another file. Returns undefined if there is none. */
	readonly readText: (path: string) => Promise<string | undefined>;
	readonly onBack: () => void;
	readonly onDownload: () => void;
}

export async function createFileView(options: FileViewOptions): Promise<HTMLElement> {
	const { path, content, changes, onBack, onDownload, readText } = options;
	const back = button('back', '', onBack);
	back.append(createIcon('back'), say('Files'));
	const name = element('b', 'path', path);
	const get = button('download', say('Download'), onDownload);
	const head = element('div', 'file-head', back, name, element('span', 'size', describeSize(content.size)), get);
	const forms = await createForms(path, content, readText);
	const shown = element('div', 'file-shown');
	const choices = forms.map(({ title, create }) => {
		const choice = button('tab', title, () => {
			for (const other of choices) other.ariaPressed = `${other === choice}`;
			shown.replaceChildren(create());
			colourCode([...shown.childNodes]);
		});
		return choice;
	});
	const history =
		changes.length === 0
			? undefined
			: element('div', 'changes', element('h3', '', say('What changed in it')), ...changes);
	queueMicrotask(() => choices[0]?.click());
	const bar = choices.length < 2 ? undefined : element('div', 'file-forms', ...choices);
	return element('div', 'file-view', head, bar, shown, history);
}

interface Form {
	readonly title: string;
	readonly create: () => HTMLElement;
}

async function createForms(
	path: string,
	content: Blob,
	readText: FileViewOptions['readText'],
): Promise<readonly Form[]> {
	const ending = /\.(\w+)$/.exec(path)?.[1]?.toLowerCase() ?? '';
	const note = (words: string): Form => ({ title: '', create: () => element('p', 'side-note', words) });
	if (content.size > mostBytes) return [note(say('The file is too large to be shown. Download it.'))];
	const type = pictures[ending];
	if (type !== undefined) {
		const picture = await toDataUrl(content, type);
		const preview = {
			title: say('Preview'),
			create: () => configure(element('img', 'file-picture'), { src: picture, alt: path }),
		};
		return ending === 'svg' ? [preview, createSource(await content.text(), 'xml')] : [preview];
	}
	const text = await content.text();
	if (text.includes('\0')) return [note(say('The file is no text. Download it.'))];
	const source = createSource(text, ending);
	if (ending === 'html' || ending === 'htm') return [await createPage(text, path, readText), source];
	if (ending === 'md' || ending === 'markdown')
		return [{ title: say('Preview'), create: () => createProse(text) }, source];
	return [source];
}

async function createPage(text: string, path: string, readText: FileViewOptions['readText']): Promise<Form> {
	const folder = new URL(path, 'https://workspace.invalid/');
	const names = listSheets(text).map((name) => new URL(name, folder).pathname.slice(1));
	const sheets = await Promise.all(names.map(readText));
	const known = sheets.filter((sheet) => sheet !== undefined);
	return { title: say('Preview'), create: () => createHtmlPreview(text, known) };
}

/** Types of pictures by their endings. An SVG in an image element runs no script and loads nothing. */
const pictures: Readonly<Record<string, string>> = {
	svg: 'image/svg+xml',
	jpg: 'image/jpeg',
	...Object.fromEntries([...shownTypes].map((type) => [type.slice('image/'.length), type])),
};

function createProse(text: string): HTMLElement {
	const prose = element('div', 'prose');
	const markdown = createMarkdown(prose);
	markdown.write(text.slice(0, mostCharacters));
	markdown.end();
	return prose;
}

function createSource(text: string, language: string): Form {
	return {
		title: say('Source'),
		create() {
			const { root, code } = createCode(language);
			code.append(text.slice(0, mostCharacters));
			if (text.length > mostCharacters) root.append(element('p', 'side-note', say('The rest is in the download.')));
			return root;
		},
	};
}

async function toDataUrl(content: Blob, type: string): Promise<string> {
	const reader = new FileReader();
	const read = new Promise((resolve) => reader.addEventListener('loadend', resolve));
	reader.readAsDataURL(new Blob([content], { type }));
	await read;
	return String(reader.result ?? '');
}
