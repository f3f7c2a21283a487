/** The script of `/docs`: a search, and forms that send API requests. The page is complete without it. */

import { configure, element, find } from '../parts/element.ts';
import { createSearchField } from '../parts/form.ts';
import { createTry } from './try.ts';

const nav = find('nav', HTMLElement);
const contents = find('#contents', HTMLDetailsElement);
createSearch(nav, contents);

// On a narrow page, collapse the list of links, so that the text is visible first.
const isWide = matchMedia('(width >= 52rem)');
const setContents = () => {
	contents.open = isWide.matches;
};
isWide.addEventListener('change', setContents);
setContents();

for (const article of document.querySelectorAll<HTMLElement>('article[data-method]')) createTry(article);

function createSearch(nav: HTMLElement, contents: HTMLDetailsElement): void {
	const entries = [...document.querySelectorAll<HTMLElement>('main article')].map((article) => ({
		article,
		words: article.textContent.toLowerCase(),
		link: contents.querySelector<HTMLElement>(`li:has(> a[href="#${CSS.escape(article.id)}"])`),
	}));
	const groups = [...document.querySelectorAll<HTMLElement>('main .group')];
	const lists = [...contents.querySelectorAll<HTMLElement>('ul')];
	const result = configure(element('p', 'found'), { role: 'status' });
	const field = createSearchField('Search the API', 'Search');
	contents.before(field, result);

	function search(): void {
		const wanted = field.value.toLowerCase().split(/\s+/).filter(Boolean);
		let count = 0;
		for (const { article, words, link } of entries) {
			const isFound = wanted.every((word) => words.includes(word));
			article.hidden = !isFound;
			if (link !== null) link.hidden = !isFound;
			if (isFound) count += 1;
		}
		// Hide the title of a group if none of its entries is shown.
		for (const group of groups) group.hidden = group.querySelector('article:not([hidden])') === null;
		for (const list of lists) {
			const isEmpty = list.querySelector('li:not([hidden])') === null;
			for (const part of [list, list.previousElementSibling]) if (part instanceof HTMLElement) part.hidden = isEmpty;
		}
		result.textContent = wanted.length === 0 ? '' : `${count} found`;
	}

	field.addEventListener('input', search);
	nav.addEventListener('keydown', ({ key }) => {
		if (key !== 'Escape' || field.value === '') return;
		field.value = '';
		search();
	});
	addEventListener('keydown', (event) => {
		const { target, key } = event;
		if (key !== '/' || (target instanceof Element && target.matches('input, textarea'))) return;
		event.preventDefault();
		field.focus();
	});
	// A link can lead to an operation that the search has hidden. End the search to show it.
	addEventListener('hashchange', () => {
		const target = document.getElementById(location.hash.slice(1));
		if (target === null || target.closest('[hidden]') === null) return;
		field.value = '';
		search();
		target.scrollIntoView();
	});
}
