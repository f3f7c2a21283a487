/** The program of `/docs`: search, and requests to the API from its page. Without it the page has all of its text. */

import { find } from '../parts/element.ts';
import { createSearch } from './search.ts';
import { createTry } from './try.ts';

const nav = find('nav', HTMLElement);
const contents = find('#contents', HTMLDetailsElement);
createSearch(nav, contents);

// A narrow page begins with the text, and not with a screen of links.
const isWide = matchMedia('(width >= 52rem)');
const setContents = () => {
	contents.open = isWide.matches;
};
isWide.addEventListener('change', setContents);
setContents();

for (const article of document.querySelectorAll<HTMLElement>('article[data-method]')) createTry(article);
