import { fromBase64, hashText } from '../ground/bytes.ts';
import { toMessageText } from '../ground/errors.ts';
import { type MessagePart, textPart } from '../ground/part.ts';
import type { Workspace } from '../workspace/index.ts';

/** An image that a model made. */
export interface MadeImage {
	/** Where the workspace keeps it: a path below `images/`. The same image has the same name. */
	readonly name: string;
	/** Media type, such as `image/png`. */
	readonly mime: string;
	/** The bytes, in base64. */
	readonly data: string;
}

/** Names an image by its bytes. */
export function createMadeImage(mime: string, data: string): MadeImage {
	const ending = endings[mime] ?? 'png';
	return { name: `images/${hashText(data)}.${ending}`, mime, data };
}

const endings: Readonly<Record<string, string>> = {
	'image/jpeg': 'jpg',
	'image/webp': 'webp',
	'image/gif': 'gif',
	'image/svg+xml': 'svg',
};

/** The text that stands for an image where only its name is told. It is that of its part. */
export function renderMadeImage(name: string): string {
	return `[image:${name}]`;
}

/**
 * Writes the images of a reply to the workspace. Returns the parts of its message: the text, and for each image a part
 * that names its file, in `meta.file`. Without a workspace the parts hold the images themselves. An image that cannot be
 * written, as over the quota, is only named, and the readers are warned.
 */
export async function keepImages(
	{ text, images = [] }: { readonly text: string; readonly images?: readonly MadeImage[] },
	workspace: Workspace | undefined,
	warn: (message: string) => undefined | Promise<void>,
): Promise<readonly MessagePart[] | undefined> {
	if (images.length === 0) return undefined;
	const parts: MessagePart[] = text === '' ? [] : [textPart(text)];
	for (const { name, mime, data } of images) {
		if (workspace === undefined) {
			parts.push({ kind: 'image', name, mime, data });
			continue;
		}
		try {
			await workspace.forCall(name).write(name, fromBase64(data));
			parts.push({ kind: 'image', name, mime, meta: { file: name } });
		} catch (error) {
			parts.push({ kind: 'image', name, mime });
			await warn(`${name}: the image that the model made could not be kept. ${toMessageText(error)}`);
		}
	}
	return parts;
}
