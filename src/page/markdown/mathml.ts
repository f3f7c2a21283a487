/** Draws LaTeX as MathML. It is half as large as the rest of the page, so it is loaded with the first formula. */
export { default } from 'temml';
