/** The files of the next message. Each file is shown with its size and a button that removes it. */

import { say } from '../../client/say.ts';
import type { Attachment } from '../../client/types.ts';
import { describeSize } from '../../client/words.ts';
import { button, configure, element, find, type Root, withoutTurns } from '../parts/element.ts';
import { shownTypes } from './pictures.ts';

interface Item {
	readonly attachment: Attachment;
	readonly node: HTMLElement;
}

/** The maximum number of files, and their maximum total size. In base64, they fit into a request of 4 MB. */
const mostFiles = 16;
const mostBytes = 2_800_000;

/** Shows the files, their total size, and the reason why a file was refused. */
export function createAttachments(root: Root, onRemoved: () => void) {
	const list = find('#files', HTMLElement, root);
	const note = find('#files-note', HTMLElement, root);
	let items: Item[] = [];
	/** The files that are still being read. They count towards the limits. */
	let reading = { files: 0, bytes: 0 };
	let work: Promise<unknown> = Promise.resolve();

	const bytes = () => items.reduce((sum, { attachment }) => sum + attachment.size, 0) + reading.bytes;
	const files = () => items.length + reading.files;

	function show(refusals: string[] = []) {
		list.replaceChildren(...items.map(({ node }) => node));
		list.hidden = items.length === 0;
		const sizes = { size: describeSize(bytes()), most: describeSize(mostBytes) };
		const used = say('{count} of {mostFiles} files, {size} of {most}', { count: files(), mostFiles, ...sizes });
		note.textContent = withoutTurns([...refusals, ...(files() > 0 ? [used] : [])].join(' '));
		note.hidden = note.textContent === '';
		note.classList.toggle('refused', refusals.length > 0);
	}

	function place(attachment: Attachment): void {
		const node = createItemNode(attachment, () => {
			items = items.filter((other) => other !== item);
			show();
			onRemoved();
		});
		const item = { attachment, node };
		items.push(item);
	}

	async function read(accepted: readonly File[], refusals: string[]) {
		for (const file of accepted) {
			try {
				place(await toAttachment(file));
			} catch {
				refusals.push(say('{name} could not be read. Folders cannot be sent.', { name: file.name || say('A file') }));
			}
			reading = { files: reading.files - 1, bytes: reading.bytes - file.size };
		}
		show(refusals);
	}

	return {
		/** Adds the files that fit, and reports why other files do not fit. */
		add(added: Iterable<File>) {
			const refusals: string[] = [];
			const accepted = [...added].filter((file) => {
				if (files() >= mostFiles) {
					const { name } = file;
					refusals.push(say('{name} is one too many: a message may have {mostFiles} files.', { name, mostFiles }));
					return false;
				}
				if (bytes() + file.size > mostBytes) {
					const sizes = { name: file.name, size: describeSize(file.size), most: describeSize(mostBytes) };
					refusals.push(say('{name} ({size}) is too large: all files of a message may have {most} together.', sizes));
					return false;
				}
				reading = { files: reading.files + 1, bytes: reading.bytes + file.size };
				return true;
			});
			work = work.then(() => read(accepted, refusals));
			return work;
		},

		/** Waits until all files are read, returns them, and removes them from the list. */
		async take() {
			await work;
			const taken = items.map(({ attachment }) => attachment);
			items = [];
			show();
			return taken;
		},

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
	const remove = configure(button('remove', '×', onRemove), { ariaLabel: say('Remove {name}', { name }) });
	const node = createFile({ name, size });
	if (shownTypes.has(type)) {
		const src = `data:${type};base64,${contentBase64}`;
		node.prepend(configure(element('img'), { alt: '', src }));
	}
	node.append(remove);
	return node;
}

function createFile({ name, size }: { readonly name: string; readonly size: number }): HTMLElement {
	return element('li', 'file', element('span', 'file-name', name), element('span', 'size', describeSize(size)));
}

export function createFileList(attachments: readonly { readonly name: string; readonly size: number }[]): HTMLElement {
	return configure(element('ul', 'files', ...attachments.map(createFile)), { ariaLabel: say('Files of the message') });
}

async function toAttachment(file: File): Promise<Attachment> {
	const bytes = new Uint8Array(await file.arrayBuffer());
	const [named = ''] = file.type.split(';');
	const type = /^[\w.+-]+\/[\w.+-]+$/.test(named) ? named : isText(bytes) ? 'text/plain' : 'application/octet-stream';
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

interface FileSources {
	readonly attach: HTMLElement;
	readonly picker: HTMLInputElement;
	readonly text: HTMLElement;
	/** The element that is highlighted while files are dragged over the area. */
	readonly target: HTMLElement;
	/** Where files can be dropped. */
	readonly area: Window | HTMLElement;
	readonly life: AbortSignal;
}

/** Listens for files that are picked, pasted into the text or dropped on the page. */
export function listenForFiles(
	{ attach, picker, text, target, area, life }: FileSources,
	onFiles: (files: File[]) => void,
) {
	attach.addEventListener('click', () => picker.click());
	picker.addEventListener('change', () => {
		onFiles([...(picker.files ?? [])]);
		// Reset the field, so that a person can pick the same file again.
		picker.value = '';
	});
	text.addEventListener('paste', (event) => {
		const data = event.clipboardData;
		// A copied table is both text and a picture. Use the text.
		if (!data?.files.length || data.types.includes('text/plain')) return;
		event.preventDefault();
		onFiles([...data.files]);
	});
	const listen = (type: 'dragover' | 'dragleave' | 'drop', onDrag: (event: DragEvent) => void) =>
		area.addEventListener(type, (event) => event instanceof DragEvent && onDrag(event), { signal: life });
	listen('dragover', (event) => mark(event, true));
	listen('dragleave', (event) => {
		const { relatedTarget: next } = event;
		if (!(next instanceof Node) || (area instanceof Node && !area.contains(next))) mark(event, false);
	});
	listen('drop', (event) => {
		if (mark(event, false)) onFiles([...(event.dataTransfer?.files ?? [])]);
	});

	function mark(event: DragEvent, isOver: boolean) {
		const hasFiles = event.dataTransfer?.types.includes('Files') === true;
		// Otherwise the browser would leave the page and show the file.
		if (hasFiles) event.preventDefault();
		target.classList.toggle('dropping', hasFiles && isOver);
		return hasFiles;
	}
}
