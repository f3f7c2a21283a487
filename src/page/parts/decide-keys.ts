/** The keys A and D, which decide about a card, and J and K, which move between the cards of a list. */

const decidable = '.open-call:has(> .decisions > .decision:enabled)';
const field = 'input, select, textarea, [contenteditable]';

/** A key decides about the card that has the focus, or else about the card under the pointer. */
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
		if (step === undefined) decide(card, key.toUpperCase());
		else move(card, step);
	});
}

const findCard = (target: EventTarget | null): HTMLElement | undefined =>
	(target instanceof Element && target.closest<HTMLElement>(decidable)) || undefined;

function decide(card: HTMLElement | undefined, key: string): void {
	if (card === undefined) return;
	const control = card.querySelector(`.decision[data-key="${CSS.escape(key)}"]:enabled`);
	if (!(control instanceof HTMLButtonElement)) return;
	const cards = listCards(card);
	const next = cards[cards.indexOf(card) + 1];
	control.click();
	if (control.disabled) next?.focus();
}

function move(card: HTMLElement | undefined, step: number): void {
	const cards = listCards(card);
	const at = card === undefined ? -1 : cards.indexOf(card);
	const next = cards[at === -1 ? 0 : at + step];
	next?.focus({ preventScroll: true });
	next?.scrollIntoView({ block: 'nearest' });
}

/** Lists the cards beside a card, or else those of the inbox. */
function listCards(card: HTMLElement | undefined): readonly HTMLElement[] {
	const place = card?.closest('.cards, .open-calls') ?? document.querySelector('#panel .cards');
	return [...(place?.querySelectorAll<HTMLElement>('.open-call') ?? [])];
}
