"use strict";
// What the report and the workbench draw with: elements of SVG, times as players show them, steps of a time axis.
function svg(parent, name, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

function clock(seconds, digits) {
  const minutes = Math.floor(seconds / 60);
  const rest = (seconds - 60 * minutes).toFixed(digits).padStart(digits ? 3 + digits : 2, "0");
  return minutes + ":" + rest;
}

function timeStep(duration, width) {
  const wanted = duration / (width / 90);
  return [0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600].find((size) => size >= wanted) || 1800;
}
