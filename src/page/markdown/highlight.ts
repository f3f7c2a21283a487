/** Colours code. It is a third of the script of the page, so it is loaded with the first block of code. */
export { highlight } from '../../client/highlight.ts';
