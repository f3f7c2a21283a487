/** The chat of a reader who may not write: a note is in the place of the message box. */

import { say } from '../../client/say.ts';
import { element, find, type Root } from '../parts/element.ts';

export function setReadOnly(root: Root, is: boolean): void {
	const form = find('#composer', HTMLFormElement, root);
	form.querySelector('.read-only-note')?.remove();
	form.parentElement?.classList.toggle('read-only', is);
	if (is) form.prepend(element('p', 'read-only-note', say('You can read this conversation, and not write in it.')));
}
