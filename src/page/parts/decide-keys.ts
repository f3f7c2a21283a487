/** The keys A and D, which decide about a card, and J and K, which move between the cards of a list. */

const decidable = '.open-call:has(> .decisions > .decision:enabled)';
const field = 'input, select, textarea, [contenteditable]';

/** A key decides about the card that has the focus, or about the card under the pointer, or about the only card. */
export function listenForDecisions(): void {
	let pointed: HTMLElement | undefined;
	// A card that a change of the page has moved below a resting pointer does not count.
	document.addEventListener('pointermove', ({ target }) => {
		pointed = findCard(target);
	});
	document.addEventListener('keydown', (event) => {
		const { key, target, repeat, ctrlKey, metaKey, altKey, defaultPrevented } = event;
		if (defaultPrevented || repeat || ctrlKey || metaKey || altKey) return;
		if (target instanceof Element && target.closest(field) !== null) return;
		const card = findCard(document.activeElement) ?? (pointed?.isConnected ? pointed : undefined);
		const step = { j: 1, k: -1 }[key];
		if (step !== undefined) move(card, step);
		else if (card !== undefined) decide(card, key.toUpperCase());
		else decideOnly(key.toUpperCase());
	});
}

const findCard = (target: EventTarget | null): HTMLElement | undefined =>
	(target instanceof Element && target.closest<HTMLElement>(decidable)) || undefined;

const findControl = (card: HTMLElement, key: string) =>
	card.querySelector<HTMLButtonElement>(`.decision[data-key="${CSS.escape(key)}"]:enabled`);

/** Decides about the only card of the page. If the person does not see all of it, shows it instead. */
function decideOnly(key: string): void {
	const [card, other] = [...document.querySelectorAll<HTMLElement>(decidable)].filter((one) => one.checkVisibility());
	const control = card && findControl(card, key);
	if (!control || other !== undefined || document.querySelector(':modal') !== null) return;
	const head = card.querySelector('.headline') ?? card;
	if (isSeen(head) && isSeen(control)) decide(card, key);
	else show(card);
}

/** Whether nothing lies over the middle of an element, and it is not scrolled out of view. */
function isSeen(node: Element): boolean {
	const { x, y, width, height } = node.getBoundingClientRect();
	return node.contains(document.elementFromPoint(x + width / 2, y + height / 2));
}

function show(card: HTMLElement | undefined): void {
	card?.focus({ preventScroll: true });
	card?.scrollIntoView({ block: 'nearest' });
}

function decide(card: HTMLElement, key: string): void {
	const control = findControl(card, key);
	if (control === null) return;
	const cards = listCards(card);
	const next = cards[cards.indexOf(card) + 1];
	control.click();
	if (control.disabled) next?.focus();
}

function move(card: HTMLElement | undefined, step: number): void {
	const cards = listCards(card);
	const at = card === undefined ? -1 : cards.indexOf(card);
	show(cards[at === -1 ? 0 : at + step]);
}

/** Lists the cards beside a card, or else those of the inbox. */
function listCards(card: HTMLElement | undefined): readonly HTMLElement[] {
	const place = card?.closest('.cards, .open-calls') ?? document.querySelector('#panel .cards');
	return [...(place?.querySelectorAll<HTMLElement>('.open-call') ?? [])];
}
