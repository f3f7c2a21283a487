/** The files that go with the next message, each shown with its size and a button that removes it. */

import type { Attachment } from '../../client/types.ts';
import { describeSize } from '../../client/words.ts';
import { button, element, withoutTurns } from '../parts/element.ts';

interface Item {
	readonly attachment: Attachment;
	readonly node: HTMLElement;
}

/** Files of one message, and bytes of all of them: in base64 they and a text fit into a request of 4 MB. */
const mostFiles = 16;
const mostBytes = 2_800_000;

/** Images that a browser shows as nothing but an image. */
export const shownTypes = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif']);

/** Shows the files in `list`. `note` shows their size, and why a file was refused. */
export function createAttachments(list: HTMLElement, note: HTMLElement, onRemoved: () => void) {
	let items: Item[] = [];
	/** Files that are being read are counted from their beginning. */
	let reading = { files: 0, bytes: 0 };
	let work: Promise<unknown> = Promise.resolve();

	const bytes = () => items.reduce((sum, { attachment }) => sum + attachment.size, 0) + reading.bytes;
	const files = () => items.length + reading.files;

	function show(refusals: string[] = []) {
		list.replaceChildren(...items.map(({ node }) => node));
		list.hidden = items.length === 0;
		const used = `${files()} of ${mostFiles} files, ${describeSize(bytes())} of ${describeSize(mostBytes)}`;
		note.textContent = withoutTurns([...refusals, ...(files() > 0 ? [used] : [])].join(' '));
		note.hidden = note.textContent === '';
		note.classList.toggle('refused', refusals.length > 0);
	}

	function place(attachment: Attachment): void {
		const node = createItemNode(attachment, () => {
			items = items.filter((one) => one !== item);
			show();
			onRemoved();
		});
		const item = { attachment, node };
		items.push(item);
	}

	async function read(given: readonly File[], refusals: string[]) {
		for (const file of given) {
			try {
				place(await toAttachment(file));
			} catch {
				refusals.push(`${file.name || 'A file'} could not be read. Folders cannot be sent.`);
			}
			reading = { files: reading.files - 1, bytes: reading.bytes - file.size };
		}
		show(refusals);
	}

	return {
		/** Adds the files that fit, and reports why others do not. */
		add(given: Iterable<File>) {
			const refusals: string[] = [];
			const taken = [...given].filter((file) => {
				if (files() >= mostFiles) {
					refusals.push(`${file.name} is one too many: a message may have ${mostFiles} files.`);
					return false;
				}
				if (bytes() + file.size > mostBytes) {
					const most = `all files of a message may have ${describeSize(mostBytes)} together`;
					refusals.push(`${file.name} (${describeSize(file.size)}) is too large: ${most}.`);
					return false;
				}
				reading = { files: reading.files + 1, bytes: reading.bytes + file.size };
				return true;
			});
			work = work.then(() => read(taken, refusals));
			return work;
		},

		/** All of them, once they are read; there are none any more. */
		async take() {
			await work;
			const taken = items.map(({ attachment }) => attachment);
			items = [];
			show();
			return taken;
		},

		/** Restores files that could not be sent. */
		restore(attachments: Attachment[]) {
			for (const attachment of attachments) place(attachment);
			show();
		},

		get isEmpty() {
			return files() === 0;
		},
	};
}

function createItemNode({ name, type, size, contentBase64 }: Attachment, onRemove: () => void): HTMLElement {
	const remove = button('remove', '×', onRemove);
	remove.setAttribute('aria-label', `Remove ${name}`);
	const node = element('li', 'file', element('span', 'file-name', name), element('span', 'size', describeSize(size)));
	if (shownTypes.has(type)) {
		const image = element('img');
		image.alt = '';
		image.src = `data:${type};base64,${contentBase64}`;
		node.prepend(image);
	}
	node.append(remove);
	return node;
}

/** The files that were sent with a message, by their names. */
export function createFileList(attachments: readonly { name: string; size: number }[]) {
	const files = attachments.map(({ name, size }) =>
		element('li', 'file', element('span', 'file-name', name), element('span', 'size', describeSize(size))),
	);
	const list = element('ul', 'files', ...files);
	list.setAttribute('aria-label', 'Files of the message');
	return list;
}

async function toAttachment(file: File): Promise<Attachment> {
	const bytes = new Uint8Array(await file.arrayBuffer());
	const [given = ''] = file.type.split(';');
	const type = /^[\w.+-]+\/[\w.+-]+$/.test(given) ? given : isText(bytes) ? 'text/plain' : 'application/octet-stream';
	const name = file.name.replace(/[/\\\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, '_').slice(-255);
	return { name: /^\.{0,2}$/.test(name) ? 'file' : name, type, size: bytes.length, contentBase64: toBase64(bytes) };
}

function isText(bytes: Uint8Array) {
	try {
		return !new TextDecoder('utf-8', { fatal: true }).decode(bytes).includes('\0');
	} catch {
		return false;
	}
}

function toBase64(bytes: Uint8Array) {
	const pieces = [];
	for (let from = 0; from < bytes.length; from += 8_192)
		pieces.push(String.fromCharCode(...bytes.subarray(from, from + 8_192)));
	return btoa(pieces.join(''));
}

/** Listens for files that are picked, pasted into the text or dropped on the page. `target` is marked while they are dragged. */
export function listenForFiles(
	{
		attach,
		picker,
		text,
		target,
	}: { attach: HTMLElement; picker: HTMLInputElement; text: HTMLElement; target: HTMLElement },
	onFiles: (files: File[]) => void,
) {
	attach.addEventListener('click', () => picker.click());
	picker.addEventListener('change', () => {
		onFiles([...(picker.files ?? [])]);
		// The same file may be picked again.
		picker.value = '';
	});
	text.addEventListener('paste', (event) => {
		const { clipboardData } = event;
		// A copied table has a text and a picture: use the text.
		if (clipboardData === null || clipboardData.files.length === 0 || clipboardData.types.includes('text/plain'))
			return;
		event.preventDefault();
		onFiles([...clipboardData.files]);
	});
	addEventListener('dragover', (event) => mark(event, true));
	addEventListener('dragleave', (event) => {
		if (event.relatedTarget === null) mark(event, false);
	});
	addEventListener('drop', (event) => {
		if (mark(event, false)) onFiles([...(event.dataTransfer?.files ?? [])]);
	});

	function mark(event: DragEvent, isOver: boolean) {
		const hasFiles = event.dataTransfer?.types.includes('Files') === true;
		// Otherwise the browser leaves the page and shows the file.
		if (hasFiles) event.preventDefault();
		target.classList.toggle('dropping', hasFiles && isOver);
		return hasFiles;
	}
}
