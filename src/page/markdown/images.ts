/**
 * Draws images of the workspace, such as `![Sales](charts/sales.png)`, when their block is complete. Until then, and if
 * there is no such file, they are shown as they were written. Nothing is ever loaded from another host.
 */

import { configure, element, withoutTurns } from '../parts/element.ts';

/** Reads a file of the chat's workspace. */
export type ReadFile = (path: string) => Promise<Blob>;

/** The types of images that cannot run scripts or load anything, by the end of the file's name. */
const types: Readonly<Record<string, string>> = {
	...{ png: 'image/png', jpg: 'image/jpeg', jpeg: 'image/jpeg' },
	...{ gif: 'image/gif', webp: 'image/webp', avif: 'image/avif' },
};

/** Larger images are shown as text, because the page keeps each image in memory as base64. */
const mostBytes = 8_000_000;

const sources = new WeakMap<Element, { readonly path: string; readonly alt: string }>();

/** Makes the place of an image. Returns undefined if the address is not a path of an image in the workspace. */
export function createFileImage(href: string, alt: string, raw: string): HTMLElement | undefined {
	const path = toPath(href);
	if (path === undefined || findType(path) === undefined) return undefined;
	const place = element('span', 'file-image', raw);
	sources.set(place, { path, alt });
	return place;
}

function findType(path: string): string | undefined {
	const end = path.slice(path.lastIndexOf('.') + 1).toLowerCase();
	return Object.hasOwn(types, end) ? types[end] : undefined;
}

/** Returns undefined for an address with a scheme or a host. */
function toPath(href: string): string | undefined {
	if (/^(?:[a-z][a-z\d+.-]*:|[/\\]{2})/i.test(href)) return undefined;
	try {
		return decodeURIComponent(href).replace(/^(?:\.?\/)+/, '');
	} catch {
		return undefined;
	}
}

/** Draws the images in these nodes. */
export async function drawFileImages(nodes: readonly ChildNode[], readFile: ReadFile): Promise<void> {
	const elements = nodes.filter((node) => node instanceof Element);
	const places = elements.flatMap((node) => [...node.querySelectorAll('.file-image')]);
	await Promise.all(places.map((place) => draw(place, readFile)));
}

async function draw(place: Element, readFile: ReadFile): Promise<void> {
	const source = sources.get(place);
	if (source === undefined) return;
	const file = await readFile(source.path).catch(() => undefined);
	if (file === undefined || file.size > mostBytes) return;
	const image = configure(element('img'), { alt: withoutTurns(source.alt) });
	image.src = await toDataUrl(new Blob([file], { type: findType(source.path) }));
	// What is no image stays as it was written.
	await image.decode().then(
		() => place.replaceChildren(image),
		() => {},
	);
}

function toDataUrl(file: Blob): Promise<string> {
	return new Promise((resolve, reject) => {
		const reader = new FileReader();
		reader.onload = () => resolve(String(reader.result));
		reader.onerror = () => reject(reader.error);
		reader.readAsDataURL(file);
	});
}
